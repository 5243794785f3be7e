import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { fieldError } from '../../api/problem.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { Detail, DetailList, Section } from '../../components/page.tsx';
import { localTime, Time } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { capitalize, formatNumber } from '../../lib/format.ts';
import {
  useOperatorChanged,
  useOperatorMutation,
  type WorkspaceDialogProps,
} from './operator-changes.ts';
import { useOperatorApi } from './operator-session.ts';

type Brake = Schema<'WorkspaceBrake'>;

export function BrakeSection({ id, brake }: { id: string; brake: Brake }) {
  const [editing, setEditing] = useState(false);
  const { thresholds } = brake;
  return (
    <Section
      title="Automatic brake"
      description="Slows down or pauses the workspace if live mail bounces or is reported as spam."
      actions={<Button onClick={() => setEditing(true)}>Edit thresholds</Button>}
    >
      <DetailList>
        <Detail name="Bounces">
          {describeThresholds(thresholds.slow_bounce_percent, thresholds.pause_bounce_percent)}
        </Detail>
        <Detail name="Complaints">
          {describeThresholds(
            thresholds.slow_complaint_percent,
            thresholds.pause_complaint_percent,
          )}
        </Detail>
      </DetailList>
      {editing && <EditBrake id={id} brake={brake} onClose={() => setEditing(false)} />}
    </Section>
  );
}

function describeThresholds(slow: number, pause: number): string {
  const parts = [
    ...(slow === 0 ? [] : [`slowed down at ${slow}%`]),
    ...(pause === 0 ? [] : [`paused at ${pause}%`]),
  ];
  return parts.length === 0 ? 'Off' : capitalize(parts.join(', '));
}

const THRESHOLD_FIELDS = [
  ['slow_bounce_percent', 'Slow down at bounces of (%)'],
  ['pause_bounce_percent', 'Pause at bounces of (%)'],
  ['slow_complaint_percent', 'Slow down at complaints of (%)'],
  ['pause_complaint_percent', 'Pause at complaints of (%)'],
] as const;

/** An empty field applies the setting of the server. The probation of the workspace is kept. */
function EditBrake({
  id,
  brake: { policy, thresholds },
  onClose,
}: WorkspaceDialogProps & { brake: Brake }) {
  const api = useOperatorApi();
  const [texts, setTexts] = useState(() =>
    Object.fromEntries(THRESHOLD_FIELDS.map(([name]) => [name, String(policy[name] ?? '')])),
  );
  const saving = useOperatorMutation(
    () => {
      const own = THRESHOLD_FIELDS.flatMap(([name]) => {
        const text = texts[name]?.trim() ?? '';
        return text === '' ? [] : [[name, Number(text)]];
      });
      const { probation_ends_at } = policy;
      return unwrap(
        api.PUT('/api/v1/operator/workspaces/{id}/brake', {
          params: { path: { id } },
          body: { ...Object.fromEntries(own), probation_ends_at },
        }),
      );
    },
    () => {
      showToast('Thresholds saved.');
      onClose();
    },
  );
  const fields = THRESHOLD_FIELDS.map(([name]) => `/${name}`);
  return (
    <Dialog
      title="Edit brake thresholds"
      description="Leave a field empty to use the server’s setting. 0 means never. Changes apply within a minute."
      onClose={onClose}
    >
      <DialogForm saving={saving} fields={fields} submitLabel="Save" onClose={onClose}>
        <div className="grid gap-4 sm:grid-cols-2">
          {THRESHOLD_FIELDS.map(([name, label]) => (
            <Field key={name} label={label} optional error={fieldError(saving.error, `/${name}`)}>
              <TextInput
                type="number"
                min={0}
                max={100}
                step="any"
                placeholder={policy[name] === null ? String(thresholds[name]) : ''}
                value={texts[name]}
                onChange={(event) => setTexts({ ...texts, [name]: event.target.value })}
              />
            </Field>
          ))}
        </div>
      </DialogForm>
    </Dialog>
  );
}

export function ProbationSection({ id, brake }: { id: string; brake: Brake }) {
  const { policy, probation } = brake;
  const [editing, setEditing] = useState(false);
  const api = useOperatorApi();
  const changed = useOperatorChanged();
  const end = () =>
    requestConfirmation({
      title: 'End probation?',
      body: 'The workspace can send as many messages per hour as its quotas allow.',
      confirmLabel: 'End probation',
      run: async () => {
        const body = { ...policy, probation_ends_at: new Date().toISOString() };
        await unwrap(
          api.PUT('/api/v1/operator/workspaces/{id}/brake', { params: { path: { id } }, body }),
        );
        await changed('Probation ended.');
      },
    });
  return (
    <Section
      title="Probation"
      description="A low limit while a workspace is new."
      actions={
        probation ? (
          <>
            <Button onClick={() => setEditing(true)}>Change end</Button>
            <Button onClick={end}>End probation</Button>
          </>
        ) : (
          <Button onClick={() => setEditing(true)}>Put on probation</Button>
        )
      }
    >
      <p className="text-sm text-soft">
        {probation ? (
          <>
            {formatNumber(probation.messages_per_hour)} live messages per hour. Ends{' '}
            <Time at={probation.ends_at} />.
          </>
        ) : (
          'Not on probation.'
        )}
      </p>
      {editing && <EditProbation id={id} brake={brake} onClose={() => setEditing(false)} />}
    </Section>
  );
}

/** The thresholds of the workspace are kept. */
function EditProbation({
  id,
  brake: { policy, probation },
  onClose,
}: WorkspaceDialogProps & { brake: Brake }) {
  const api = useOperatorApi();
  const [date, setDate] = useState(probation ? localTime(probation.ends_at).slice(0, 10) : '');
  const saving = useOperatorMutation(
    () =>
      unwrap(
        api.PUT('/api/v1/operator/workspaces/{id}/brake', {
          params: { path: { id } },
          // The whole day, in the browser's time zone.
          body: { ...policy, probation_ends_at: new Date(`${date}T23:59:59`).toISOString() },
        }),
      ),
    () => {
      showToast('Probation saved.');
      onClose();
    },
  );
  return (
    <Dialog
      title={probation ? 'Change the end of probation' : 'Put on probation'}
      description="Until the end of this day, the workspace can send only a few live messages per hour."
      onClose={onClose}
    >
      <DialogForm
        saving={saving}
        fields={['/probation_ends_at']}
        submitLabel="Save"
        onClose={onClose}
      >
        <Field label="Last day" error={fieldError(saving.error, '/probation_ends_at')}>
          <TextInput
            type="date"
            min={localTime(new Date().toISOString()).slice(0, 10)}
            value={date}
            onChange={(event) => setDate(event.target.value)}
            required
          />
        </Field>
      </DialogForm>
    </Dialog>
  );
}
