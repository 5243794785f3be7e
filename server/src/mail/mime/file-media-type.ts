/**
 * The media type that the name of a file stands for, or else that of an image by its first bytes, or
 * else the one for unknown content. Mail clients preview and open a file by its type, whatever its name
 * is, and show no image of an unknown type. Programs often name inline images by their Content-ID.
 */
export function mediaTypeOfFile(filename: string, content: Uint8Array): string {
  const extension = filename.slice(filename.lastIndexOf('.') + 1).toLowerCase();
  return TYPES.get(extension) ?? imageTypeOf(content) ?? 'application/octet-stream';
}

const SIGNATURE_BYTES = 256;

/** By the signatures that the formats prescribe; SVG by its root element. */
function imageTypeOf(content: Uint8Array): string | undefined {
  const start = Buffer.from(content.subarray(0, SIGNATURE_BYTES)).toString('latin1');
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(start)) return 'image/gif';
  if (/^RIFF.{4}WEBP/s.test(start)) return 'image/webp';
  if (/^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)?<svg[\s>]/.test(start)) {
    return 'image/svg+xml';
  }
  return undefined;
}

const OFFICE = 'application/vnd.openxmlformats-officedocument';

/** As registered with IANA. Files that mail servers often reject, such as programs, have no entry. */
const TYPES = new Map([
  ['avif', 'image/avif'],
  ['csv', 'text/csv'],
  ['doc', 'application/msword'],
  ['docx', `${OFFICE}.wordprocessingml.document`],
  ['gif', 'image/gif'],
  ['gz', 'application/gzip'],
  ['heic', 'image/heic'],
  ['htm', 'text/html'],
  ['html', 'text/html'],
  ['ics', 'text/calendar'],
  ['jpeg', 'image/jpeg'],
  ['jpg', 'image/jpeg'],
  ['json', 'application/json'],
  ['md', 'text/markdown'],
  ['mp3', 'audio/mpeg'],
  ['mp4', 'video/mp4'],
  ['odp', 'application/vnd.oasis.opendocument.presentation'],
  ['ods', 'application/vnd.oasis.opendocument.spreadsheet'],
  ['odt', 'application/vnd.oasis.opendocument.text'],
  ['pdf', 'application/pdf'],
  ['pkpass', 'application/vnd.apple.pkpass'],
  ['png', 'image/png'],
  ['ppt', 'application/vnd.ms-powerpoint'],
  ['pptx', `${OFFICE}.presentationml.presentation`],
  ['rtf', 'application/rtf'],
  ['svg', 'image/svg+xml'],
  ['tif', 'image/tiff'],
  ['tiff', 'image/tiff'],
  ['txt', 'text/plain'],
  ['vcf', 'text/vcard'],
  ['webp', 'image/webp'],
  ['xls', 'application/vnd.ms-excel'],
  ['xlsx', `${OFFICE}.spreadsheetml.sheet`],
  ['xml', 'application/xml'],
  ['zip', 'application/zip'],
]);
