import { serveTasks, toBuffer } from '../../lib/threads/serve-tasks.ts';
import type { ParseTask } from './mail-parser.ts';
import { parseMail } from './parse-mail.ts';

/** The worker of a MailParser. */
serveTasks(({ data, options }: ParseTask) => parseMail(toBuffer(data), options));
