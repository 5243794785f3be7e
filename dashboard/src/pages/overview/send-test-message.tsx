import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Send } from 'lucide-react';
import { apiFor, unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { showErrorToast } from '../../layout/toasts.tsx';
import { Button } from '../../components/button.tsx';
import { selectMode } from '../../session/selection.ts';
import { useMe } from '../../session/session.ts';

/** The first message without a shell: in test mode, to the person, and then to where it arrived. */
export function SendTestMessage() {
  const { selection: place } = useApi();
  const me = useMe();
  const navigate = useNavigate();
  const sending = useMutation({
    mutationFn: () =>
      unwrap(
        apiFor({ ...place, mode: 'test' }).POST('/api/v1/transactional/send', {
          body: {
            to: { email: me.email, name: me.name },
            from: { email: 'hello@example.org', name: 'Postrider' },
            subject: 'Hello ${name}',
            html: HTML,
            variables: { name: me.name },
          },
        }),
      ),
    onSuccess: (answer) => {
      selectMode('test');
      // A dry run, which this is not, would be answered without one.
      const search = 'id' in answer ? { id: answer.id } : {};
      void navigate({ to: '/test-inbox', search });
    },
    onError: showErrorToast,
  });
  return (
    <Button
      kind="primary"
      size="small"
      icon={Send}
      busy={sending.isPending}
      onClick={() => sending.mutate()}
    >
      Send one now
    </Button>
  );
}

const HTML = `<h1>It works</h1>
<p>Hello {{ name }}, this is your first message. It went the way of every other: accepted, stored,
queued, delivered. Because it was sent in test mode, its last hop was the test inbox.</p>
<p>Its timeline, its source and the conversation of its delivery are one click away.</p>
`;
