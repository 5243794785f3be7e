import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Send } from 'lucide-react';
import { apiFor, unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Button } from '../../components/button.tsx';
import { showErrorToast } from '../../layout/toasts.tsx';
import { selectMode } from '../../session/selection.ts';
import { useMe } from '../../session/session.ts';

/** Sends a test message to the user and opens it in the test inbox. */
export function SendTestMessage() {
  const { selection } = useApi();
  const me = useMe();
  const navigate = useNavigate();
  const sending = useMutation({
    mutationFn: () =>
      unwrap(
        apiFor({ ...selection, mode: 'test' }).POST('/api/v1/transactional/send', {
          body: {
            to: { email: me.email, name: me.name },
            from: { email: 'hello@example.org', name: 'Postrider' },
            subject: 'Hello ${name}',
            html: HTML,
            variables: { name: me.name },
          },
        }),
      ),
    onSuccess: (response) => {
      selectMode('test');
      // Only a dry run, which this is not, has no ID.
      const search = 'id' in response ? { id: response.id } : {};
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
      Send test email
    </Button>
  );
}

const HTML = `<h1>It works</h1>
<p>Hello {{ name }}, this is your first message. It was accepted, queued and delivered like any other,
but because it was sent in test mode, it went to the test inbox.</p>
<p>Open its timeline to see each delivery step.</p>
`;
