import { serveTasks } from '../../lib/threads/serve-tasks.ts';
import { verifyDkim } from './verify-dkim.ts';

/** The worker in which large mail is verified. */
serveTasks(verifyDkim);
