import { expect, test } from 'vitest';
import { mediaTypeOfFile } from './file-media-type.ts';

const PNG = Buffer.from('89504e470d0a1a0a', 'hex');

test('the extension decides, whatever the content is', () => {
  expect(mediaTypeOfFile('Report.PDF', PNG)).toBe('application/pdf');
});

test.each([
  [PNG, 'image/png'],
  [Buffer.from('ffd8ffe0', 'hex'), 'image/jpeg'],
  [Buffer.from('GIF87a'), 'image/gif'],
  [Buffer.from('GIF89a'), 'image/gif'],
  [Buffer.from('RIFF\n\0\0\0WEBPVP8 '), 'image/webp'],
  [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml'],
  [Buffer.from('\uFEFF<?xml version="1.0"?>\n<!-- Logo -->\n<svg>'), 'image/svg+xml'],
  [Buffer.from('RIFF\n\0\0\0WAVEfmt '), 'application/octet-stream'],
  [Buffer.from('<html><svg>'), 'application/octet-stream'],
  [Buffer.alloc(0), 'application/octet-stream'],
])('a file without an extension has the type of an image by its content: %#', (content, type) => {
  expect(mediaTypeOfFile('logo', content)).toBe(type);
});
