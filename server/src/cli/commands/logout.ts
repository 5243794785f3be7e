import { deleteLogin, loginFile } from '../api/stored-login.ts';
import type { Command } from '../command.ts';

export const logout: Command = {
  name: 'logout',
  summary: 'Delete the stored URL and API key.',
  details: 'The key itself stays valid; "postrider keys revoke ID" ends it.',
  run: async () => {
    const file = loginFile();
    const existed = await deleteLogin();
    return {
      data: { file, deleted: existed },
      text: existed ? `Logged out: deleted ${file}.` : 'You are not logged in.',
    };
  },
};
