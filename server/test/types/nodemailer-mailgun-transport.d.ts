/** The package has no types of its own. */
declare module 'nodemailer-mailgun-transport' {
  import type { Transport } from 'nodemailer';

  export default function mailgunTransport(options: {
    auth: { api_key: string; domain: string };
    url: string;
  }): Transport;
}
