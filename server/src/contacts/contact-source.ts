/** What a contact record offers to placeholders, by the names they use: `contact.<key>`. */
export interface MailboxContact {
  email: string;
  first_name: string | null;
  last_name: string | null;
  locale: string | null;
  attributes: Record<string, unknown>;
}
