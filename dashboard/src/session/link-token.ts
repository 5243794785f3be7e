import { useEffect, useState } from 'react';

/** The secret of an emailed link. It is in the fragment, which browsers do not send to servers. */
export function useLinkToken(): string {
  const [token] = useState(() => location.hash.slice(1));
  useEffect(() => {
    // A second link that is opened in the same tab changes nothing but the fragment.
    const restart = () => {
      if (location.hash.slice(1) !== token) location.reload();
    };
    addEventListener('hashchange', restart);
    return () => removeEventListener('hashchange', restart);
  }, [token]);
  return token;
}
