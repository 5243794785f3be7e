import { notifyManager, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ProblemError } from './api/problem.ts';
import './layout/theme.ts';
import { router } from './router.tsx';
import './styles.css';

// Not in a task of its own, which comes after what the person does next: a button must know that it is
// busy before the second click of a double click.
notifyManager.setScheduler(queueMicrotask);

const RETRIES_MAX = 2;

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // A refusal is an answer; only what may have been bad luck is asked again.
      retry: (count, error) =>
        count < RETRIES_MAX &&
        error instanceof ProblemError &&
        (error.problem.status === 0 || error.problem.status >= 500),
    },
  },
});

createRoot(document.getElementById('app') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
