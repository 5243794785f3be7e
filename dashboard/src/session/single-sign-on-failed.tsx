import { Link, useSearch } from '@tanstack/react-router';
import { buttonClass } from '../components/button.tsx';
import { CopyCode } from '../components/copy.tsx';
import { CardPage } from './card-page.tsx';
import { singleSignOnUrl } from './single-sign-on.tsx';

interface Text {
  title: string;
  text: string;
}

const UNKNOWN: Text = {
  title: 'Sign-in failed',
  text: 'Something went wrong. Try again.',
};

/** The reasons of server/src/accounts/people/single-sign-on/sign-in-failure.ts. */
const TEXTS: Record<string, Text> = {
  account_exists: {
    title: 'You already have an account',
    text: 'Your address has an account that is not a member of this workspace. Ask an admin to invite you, accept the invitation with your password, then sign in here.',
  },
  cancelled: {
    title: 'Sign-in was cancelled',
    text: 'You or your identity provider cancelled the sign-in.',
  },
  completed: {
    title: 'This sign-in was already completed',
    text: 'Each sign-in works once. If you are not signed in, start again.',
  },
  expired: {
    title: 'Sign-in took too long',
    text: 'It must be completed within ten minutes. Start again.',
  },
  invalid_response: {
    title: 'The response could not be verified',
    text: 'Your identity provider sent a response that is not valid for this sign-in. If it happens again, tell the owner of the workspace.',
  },
  no_access: {
    title: 'You have no access to this workspace',
    text: 'You signed in, but none of your groups has a role here. Ask an owner of the workspace for access.',
  },
  no_email: {
    title: 'Your email address is missing',
    text: 'Your identity provider did not send an email address. An administrator must add it to your account there.',
  },
  not_configured: {
    title: 'Single sign-on is not available',
    text: 'This workspace does not exist or has no identity provider. Check the link, or sign in with your password.',
  },
  other_browser: {
    title: 'This sign-in was started elsewhere',
    text: 'Complete it in the browser and the window in which you started it, and allow cookies. Or start again.',
  },
  provider_error: {
    title: 'Your identity provider reported an error',
    text: 'Try again in a moment. If it happens again, tell the owner of the workspace.',
  },
  provider_unreachable: {
    title: 'Your identity provider can’t be reached',
    text: 'Try again in a moment. Owners can sign in with their password.',
  },
  too_many_attempts: {
    title: 'Too many attempts',
    text: 'Wait a few minutes, then try again.',
  },
  unverified_email: {
    title: 'Your email address is not verified',
    text: 'Your identity provider does not report your address as verified. Verify it there, or sign in with your password.',
  },
  workspace_full: {
    title: 'The workspace is full',
    text: 'It has as many members as it can have. Ask an owner to remove some.',
  },
};

/** Explains why a sign-in with an identity provider failed, and what to do. */
export function SingleSignOnFailedPage() {
  const search = useSearch({ strict: false }) as {
    reason?: string;
    workspace?: string;
    request?: string;
  };
  const { workspace, request } = search;
  const { title, text } = (search.reason && TEXTS[search.reason]) || UNKNOWN;
  return (
    <CardPage title={title} description={text}>
      <div className="grid gap-2">
        {search.reason !== 'not_configured' && (
          <a href={singleSignOnUrl(workspace)} className={`${buttonClass('primary')} w-full`}>
            Try again
          </a>
        )}
        <Link to="/sign-in" className={`${buttonClass('plain')} w-full`}>
          Other ways to sign in
        </Link>
      </div>
      {request !== undefined && (
        <div className="mt-4 flex items-center gap-2 text-xs text-faint">
          Request <CopyCode text={request} />
        </div>
      )}
    </CardPage>
  );
}
