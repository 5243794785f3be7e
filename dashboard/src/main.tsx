import { notifyManager, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ProblemError } from './api/problem.ts';
import './layout/theme.ts';
import { router } from './router.tsx';
import './styles.css';

// Notify in a microtask, not a task: a button must become busy before the second click of a double
// click is handled.
notifyManager.setScheduler(queueMicrotask);

const MAX_RETRIES = 2;

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // Retry only network and server errors; a 4xx response is final.
      retry: (count, error) =>
        count < MAX_RETRIES &&
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
