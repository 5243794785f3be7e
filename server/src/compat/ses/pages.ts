import { Type } from 'typebox';

/** Lists of SES page by size and token, ours by limit and cursor. */
export const PAGE_QUERY = {
  PageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  NextToken: Type.Optional(Type.String({ maxLength: 512 })),
};

const LIMIT_MAX = 100;

export function pageQuery(page: {
  PageSize?: number | undefined;
  NextToken?: string | undefined;
}): Record<string, string> {
  const { PageSize = LIMIT_MAX, NextToken } = page;
  return {
    limit: String(Math.min(PageSize, LIMIT_MAX)),
    ...(NextToken === undefined ? {} : { cursor: NextToken }),
  };
}

export function nextToken({ next_cursor: cursor }: { next_cursor: string | null }): object {
  return cursor === null ? {} : { NextToken: cursor };
}

/** Times in bodies are seconds since 1970. */
export function toSeconds(time: string): number {
  return Date.parse(time) / 1000;
}
