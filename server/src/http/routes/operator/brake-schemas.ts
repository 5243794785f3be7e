import { Type } from 'typebox';
import { closed, NullableTime, oneOf, Time } from '../../openapi/shared-schemas.ts';

/** The automatic brake of a workspace. */

const BRAKE = {
  state: 'slowed',
  since: '2026-11-15T09:30:00.000Z',
  messages_per_hour: 100,
  explanation: '61 of 1000 messages bounced (6.1%, the limit is 5%).',
  evidence: {
    kind: 'bounce_rate',
    rate: 0.061,
    threshold: 0.05,
    counted: 61,
    recipients: 1_000,
    from: '2026-11-14T09:00:00.000Z',
    to: '2026-11-15T09:30:00.000Z',
  },
};

export const Brake = Type.Object(
  {
    state: oneOf(['slowed', 'paused'] as const, {
      description:
        '`slowed`: fewer live messages per hour. `paused`: live sending is suspended until the operator resumes the workspace.',
    }),
    since: Time,
    messages_per_hour: Type.Integer({ description: 'Live messages that can be sent per hour.' }),
    explanation: Type.String({ description: 'The reason, as a sentence.' }),
    evidence: Type.Object({
      kind: oneOf(['bounce_rate', 'complaint_rate'] as const),
      rate: Type.Number({ description: 'A share from 0 to 1.' }),
      threshold: Type.Number({ description: 'The share that was passed.' }),
      counted: Type.Integer({ description: 'How many recipients bounced or complained.' }),
      recipients: Type.Integer({ description: 'Of how many.' }),
      from: Time,
      to: Time,
    }),
  },
  { title: 'Brake', examples: [BRAKE] },
);

const percent = (description: string) =>
  Type.Number({ minimum: 0, maximum: 100, description: `${description} 0: never.` });

const Thresholds = {
  slow_bounce_percent: percent('Bounce rate at which the workspace is slowed down.'),
  pause_bounce_percent: percent('Bounce rate at which the workspace is paused.'),
  slow_complaint_percent: percent('Complaint rate at which the workspace is slowed down.'),
  pause_complaint_percent: percent('Complaint rate at which the workspace is paused.'),
};

const THRESHOLDS = {
  slow_bounce_percent: 5,
  pause_bounce_percent: 10,
  slow_complaint_percent: 0.1,
  pause_complaint_percent: 0.3,
};

const ownThreshold = (name: keyof typeof Thresholds) => Type.Union([Thresholds[name], Type.Null()]);

const PolicyFields = {
  slow_bounce_percent: ownThreshold('slow_bounce_percent'),
  pause_bounce_percent: ownThreshold('pause_bounce_percent'),
  slow_complaint_percent: ownThreshold('slow_complaint_percent'),
  pause_complaint_percent: ownThreshold('pause_complaint_percent'),
  probation_ends_at: NullableTime,
};

const POLICY = {
  slow_bounce_percent: null,
  pause_bounce_percent: 10,
  slow_complaint_percent: null,
  pause_complaint_percent: null,
  probation_ends_at: null,
};

export const WorkspaceBrake = Type.Object(
  {
    brake: Type.Union([Brake, Type.Null()], { description: 'Null while the brake is off.' }),
    thresholds: Type.Object(Thresholds, {
      description: 'Those of the workspace, or else those of the settings.',
    }),
    policy: Type.Object(PolicyFields, {
      description: 'What was set for the workspace. Null: as the settings say.',
    }),
    probation: Type.Union(
      [Type.Object({ ends_at: Time, messages_per_hour: Type.Integer() }), Type.Null()],
      { description: 'Set while the workspace is new and can send only a few messages.' },
    ),
  },
  {
    title: 'WorkspaceBrake',
    examples: [{ brake: BRAKE, thresholds: THRESHOLDS, policy: POLICY, probation: null }],
  },
);

export const SetWorkspaceBrake = closed(
  {
    slow_bounce_percent: Type.Optional(PolicyFields.slow_bounce_percent),
    pause_bounce_percent: Type.Optional(PolicyFields.pause_bounce_percent),
    slow_complaint_percent: Type.Optional(PolicyFields.slow_complaint_percent),
    pause_complaint_percent: Type.Optional(PolicyFields.pause_complaint_percent),
    probation_ends_at: Type.Optional(
      Type.Unsafe<string | null>({
        ...NullableTime,
        description: 'A time in the past ends the probation. Null: as the settings say.',
      }),
    ),
  },
  { title: 'SetWorkspaceBrake' },
);
