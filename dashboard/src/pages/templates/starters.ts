import type { ContentKind, TemplateChange } from './content-api.ts';

/** Something to change instead of an empty page. */
export const STARTERS: Record<ContentKind, TemplateChange> = {
  template: {
    subject: 'Welcome, ${first_name}',
    html: `<h1>Hello {{ first_name }}</h1>
<p>Good to have you. Please confirm your address.</p>
<p><a href="{{ confirm_url }}">Confirm address</a></p>
`,
    variables: [
      { name: 'first_name', example: 'Jane' },
      { name: 'confirm_url', example: 'https://example.com/confirm' },
    ],
  },
  layout: {
    html: `<!doctype html>
<html>
  <head>
    <style>
      body { font-family: Arial, sans-serif; color: #222; }
      main { max-width: 560px; margin: 0 auto; padding: 24px; }
      footer { color: #777; font-size: 12px; }
    </style>
  </head>
  <body>
    <main>
      {{ content }}
      <footer>Example Ltd., 1 High Street</footer>
    </main>
  </body>
</html>
`,
  },
  partial: { html: '<p>Example Ltd., 1 High Street</p>\n' },
};
