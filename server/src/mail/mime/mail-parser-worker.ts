import { serveTasks, toBuffer } from '../../lib/serve-tasks.ts';
import { parseMail } from './parse-mail.ts';

/** The worker of a MailParser. */
serveTasks((data: Uint8Array) => parseMail(toBuffer(data)));
