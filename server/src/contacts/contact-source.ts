/** The contact fields that placeholders can use, by name: `contact.<key>`. */
export interface MailboxContact {
  email: string;
  first_name: string | null;
  last_name: string | null;
  locale: string | null;
  attributes: Record<string, unknown>;
}
