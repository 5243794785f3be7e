import type { ContentKind, TemplateChange } from './content-api.ts';

/** Initial content for new templates, layouts and partials. */
export const STARTERS: Record<ContentKind, TemplateChange> = {
  template: {
    subject: 'Welcome, ${first_name}',
    html: `<div style="display:none">Confirm your email address to get started.</div>
<h1>Hello {{ first_name }}</h1>
<p>Thanks for signing up. Please confirm your email address.</p>
<p><a href="{{ confirm_url }}">Confirm email</a></p>
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
      <footer>Example Inc., 1 Main Street</footer>
    </main>
  </body>
</html>
`,
  },
  partial: { html: '<p>Example Inc., 1 Main Street</p>\n' },
};
