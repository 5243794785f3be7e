import { boolean, integer, secret, secretKey, text } from './setting-types.ts';

export const storage = {
  DATA_DIR: text({
    description: 'Folder of the embedded PostgreSQL and the generated secret key.',
    format: 'a folder that this user can write to',
    default: './data',
  }),
  DATABASE_URL: secret(
    text<string | undefined>({
      description:
        'PostgreSQL 15 or newer to use instead of the embedded one: {format}. With several hosts, the primary is used.',
      format:
        '`postgres://user:password@host:5432/database`, or with several `host:port` pairs separated by commas',
      default: undefined,
      defaultText: 'embedded',
      accepts: /^postgres(ql)?:\/\/[^\s]+$/,
    }),
  ),
  DATABASE_READ_URL: secret(
    text<string | undefined>({
      description:
        'A standby of the database, in the same format as `DATABASE_URL`. Statistics, and the lists, exports and event feed that API keys request, are read from it unless it is more than ten seconds behind. See [Read replica](production.md#read-replica).',
      format:
        '`postgres://user:password@host:5432/database`, or with several `host:port` pairs separated by commas',
      default: undefined,
      defaultText: 'the primary',
      accepts: /^postgres(ql)?:\/\/[^\s]+$/,
    }),
  ),
  DATABASE_SCHEMA: text<string | undefined>({
    description:
      'PostgreSQL schema of all tables. It is created if it does not exist. Several installations can share a database, each in its own schema. See [Schemas](production.md#schemas).',
    format:
      'lowercase letters, digits and underscores, not starting with pg_; at most 40 characters',
    default: undefined,
    defaultText: 'the first schema of the search path, usually `public`',
    accepts: /^(?!pg_)[a-z_][a-z0-9_]{0,39}$/,
  }),
  DATABASE_CONNECTIONS_MAX: integer({
    description:
      'Maximum database connections of the main pool, and of that to `DATABASE_READ_URL`. Delivery, webhooks and notifications use up to 16 more.',
    default: 20,
    min: 4,
    max: 1000,
  }),
  ALLOW_UNSAFE_DATABASE: boolean({
    description:
      'Accept a database that can lose committed mail in a crash (`fsync`, `full_page_writes` or `synchronous_commit` off).',
    default: false,
  }),
  SECRET_KEY: secretKey({
    description:
      'Encrypts secrets in the database, such as DKIM keys and webhook secrets. Use {format}. Must be the same on every node. If it is lost, so are the secrets.',
    defaultText: 'generated in `DATA_DIR` with the embedded database; required with `DATABASE_URL`',
  }),
  ALLOW_OTHER_SECRET_KEY: boolean({
    description:
      'Start with a different `SECRET_KEY` than before. Secrets encrypted with the previous key are lost.',
    default: false,
  }),
};

/** Where the contents of old messages are stored. */
export const contentArchive = {
  CONTENT_BUCKET_URL: text<string | undefined>({
    description:
      'S3-compatible storage to which contents of messages are moved after four days: {format}. See [Content archive](production.md#content-archive).',
    format:
      'the URL of a bucket, such as `https://s3.example.com/bucket`, optionally followed by a prefix',
    default: undefined,
    defaultText: 'contents stay in the database',
    accepts: /^https?:\/\/[^\s?#@]+$/,
  }),
  CONTENT_BUCKET_REGION: text({
    description: 'Region of the bucket.',
    format: 'a name such as eu-central-1',
    default: 'us-east-1',
    accepts: /^[a-z0-9-]+$/,
  }),
  CONTENT_BUCKET_ACCESS_KEY_ID: text<string | undefined>({
    description: 'Access key of the bucket. It must be able to put, get and delete objects.',
    format: 'an access key ID',
    default: undefined,
    defaultText: 'none',
  }),
  CONTENT_BUCKET_SECRET_ACCESS_KEY: secret(
    text<string | undefined>({
      description: 'Secret of the access key.',
      format: 'a secret access key',
      default: undefined,
      defaultText: 'none',
    }),
  ),
};
