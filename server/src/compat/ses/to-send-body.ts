import { type FieldError, invalidFields } from '../../lib/refused-error.ts';
import { parseAddress } from '../address-list.ts';
import { parseJsonObject } from '../json-object.ts';
import { toRecord } from '../name-value-list.ts';
import { withoutReturnPath } from '../return-path-header.ts';
import {
  type Attachment,
  type Destination,
  type NameValue,
  refuseUnsupported,
  type SendBulkEmail,
  type SendEmail,
  type Template,
  unsupported,
} from './email-schemas.ts';
import { templateKey } from './templates.ts';

/** Translates the requests of SES to the body of our own send. Pointers are those of SES. */

type Common = Pick<
  SendEmail,
  | 'FromEmailAddress'
  | 'ReplyToAddresses'
  | 'ConfigurationSetName'
  | 'Destination'
  | 'EmailTags'
  | 'ListManagementOptions'
>;

/** Simple content and templates. */
export function toSendBody(email: SendEmail): object {
  refuseUnsupported(email);
  const { Simple, Template } = email.Content;
  const common = commonFields(email);
  if (Template) return { ...common, ...templateFields(Template, '/Content/Template', {}) };
  if (!Simple) throw contentCount();
  const { Subject, Body, Headers, Attachments } = Simple;
  refuseUnsubscribePlaceholder(Body.Html?.Data, '/Content/Simple/Body/Html/Data');
  refuseUnsubscribePlaceholder(Body.Text?.Data, '/Content/Simple/Body/Text/Data');
  common.subject = Subject.Data;
  if (Body.Html) common.html = Body.Html.Data;
  if (Body.Text) common.text = Body.Text.Data;
  // What was rendered by the program is sent as it is.
  common.placeholders = false;
  return addExtra(common, Headers, Attachments, '/Content/Simple');
}

/** Simple content is sent as it is, so recipients would see the placeholder. */
function refuseUnsubscribePlaceholder(text: string | undefined, pointer: string): void {
  if (!text?.includes('{{amazonSESUnsubscribeUrl}}')) return;
  const detail =
    'amazonSESUnsubscribeUrl is not supported. Use a template with {{ unsubscribe_url }}; the ' +
    'header List-Unsubscribe is added in any case.';
  throw invalidFields([unsupported(pointer, detail)]);
}

/** Exactly one kind of content. */
export function checkContent({ Content: { Simple, Raw, Template } }: SendEmail): void {
  if (Number(!!Simple) + Number(!!Raw) + Number(!!Template) !== 1) throw contentCount();
}

function contentCount() {
  const detail = 'Content needs exactly one of Simple, Raw and Template.';
  return invalidFields([{ pointer: '/Content', code: 'invalid_value', detail }]);
}

/** One entry of a bulk send, with what it replaces. */
export function toBulkBody(bulk: SendBulkEmail, index: number): object {
  const entry = bulk.BulkEmailEntries[index] as SendBulkEmail['BulkEmailEntries'][number];
  const { ReplacementTags = [], ReplacementHeaders = [], ReplacementEmailContent } = entry;
  const at = `/BulkEmailEntries/${index}`;
  const { Template } = bulk.DefaultContent;
  const email = {
    ...bulk,
    Destination: entry.Destination,
    EmailTags: replaced(bulk.DefaultEmailTags, ReplacementTags),
  };
  const data = ReplacementEmailContent?.ReplacementTemplate?.ReplacementTemplateData;
  const template = { ...Template, Headers: replaced(Template.Headers, ReplacementHeaders) };
  return {
    ...commonFields(email, at),
    ...templateFields(template, '/DefaultContent/Template', templateData(data, at)),
  };
}

function replaced(defaults: readonly NameValue[] = [], own: readonly NameValue[]): NameValue[] {
  const names = new Set(own.map(({ Name }) => Name.toLowerCase()));
  return [...defaults.filter(({ Name }) => !names.has(Name.toLowerCase())), ...own];
}

function commonFields(email: Common, at = ''): Record<string, unknown> {
  const { FromEmailAddress: from, ReplyToAddresses: replyTo, ConfigurationSetName: set } = email;
  const { ToAddresses = [], CcAddresses = [], BccAddresses = [] } = email.Destination ?? {};
  if (ToAddresses.length + CcAddresses.length + BccAddresses.length === 0) {
    const detail = 'At least one address is required, in ToAddresses, CcAddresses or BccAddresses.';
    const pointer = `${at}/Destination/ToAddresses`;
    throw invalidFields([{ pointer, code: 'required', detail }]);
  }
  const list = (addresses: readonly string[], pointer: string) =>
    addresses.map((text, index) => parseAddress(text, `${pointer}/${index}`));
  const body: Record<string, unknown> = {};
  if (ToAddresses.length > 0) body.to = list(ToAddresses, `${at}/Destination/ToAddresses`);
  if (from !== undefined) body.from = parseAddress(from, '/FromEmailAddress');
  if (CcAddresses.length > 0) body.cc = list(CcAddresses, `${at}/Destination/CcAddresses`);
  if (BccAddresses.length > 0) body.bcc = list(BccAddresses, `${at}/Destination/BccAddresses`);
  if (replyTo?.length) body.reply_to = list(replyTo, '/ReplyToAddresses');
  if (!email.EmailTags && set === undefined && !email.ListManagementOptions) return body;
  return Object.assign(
    body,
    optionFields(email.EmailTags, set),
    streamField(email.ListManagementOptions),
  );
}

/** A topic is a kind of mail that recipients can leave, as is a list without topics: a stream. */
export function streamField(list: SendEmail['ListManagementOptions']): { stream?: string } {
  if (!list) return {};
  return { stream: (list.TopicName ?? list.ContactListName).toLowerCase() };
}

/** Tags of SES have values, like our metadata; a configuration set groups messages, like our tags. */
export function optionFields(tags: readonly NameValue[] | undefined, set: string | undefined) {
  return {
    ...(tags?.length ? { metadata: toRecord(tags, '/EmailTags') } : {}),
    ...(set === undefined ? {} : { tags: [set] }),
  };
}

export function recipientsOf(destination: Destination = {}): string[] {
  const { ToAddresses = [], CcAddresses = [], BccAddresses = [] } = destination;
  return [...ToAddresses, ...CcAddresses, ...BccAddresses].map(
    (text) => parseAddress(text, '/Destination').email,
  );
}

function templateFields(template: Template, at: string, own: Record<string, unknown>): object {
  const { TemplateName: name, TemplateContent: content, TemplateArn: arn } = template;
  if (arn !== undefined) {
    const detail = 'TemplateArn is not supported. Name the template in TemplateName.';
    throw invalidFields([unsupported(`${at}/TemplateArn`, detail)]);
  }
  const values = { ...templateData(template.TemplateData, `${at}/TemplateData`), ...own };
  if (name !== undefined && content === undefined) {
    const body = { template_key: templateKey(name), template_variables: values };
    return addExtra(body, template.Headers, template.Attachments, at);
  }
  if (content === undefined || name !== undefined) {
    const detail = 'A template needs either TemplateName or TemplateContent.';
    throw invalidFields([{ pointer: at, code: 'invalid_value', detail }]);
  }
  const body = {
    subject: content.Subject ?? '',
    ...(content.Html === undefined ? {} : { html: content.Html }),
    ...(content.Text === undefined ? {} : { text: content.Text }),
    variables: values,
  };
  return addExtra(body, template.Headers, template.Attachments, at);
}

function templateData(text: string | undefined, pointer: string): Record<string, unknown> {
  if (text === undefined || text === '') return {};
  return parseJsonObject(text, pointer, 'The template data must be a JSON object as text.');
}

function addExtra(
  body: Record<string, unknown>,
  headers: readonly NameValue[] | undefined,
  attachments: readonly Attachment[] | undefined,
  at: string,
): object {
  if (headers?.length) body.headers = withoutReturnPath(toRecord(headers, `${at}/Headers`));
  if (attachments?.length) {
    body.attachments = attachments.map((one, index) =>
      toAttachment(one, `${at}/Attachments/${index}`),
    );
  }
  return body;
}

function toAttachment(attachment: Attachment, at: string): object {
  const { ContentId: contentId, ContentDisposition: disposition } = attachment;
  const errors: FieldError[] = [];
  if (attachment.ContentDescription !== undefined) {
    const detail = 'ContentDescription is not supported. Omit it.';
    errors.push(unsupported(`${at}/ContentDescription`, detail));
  }
  if (disposition === 'INLINE' && contentId === undefined) {
    const detail = 'An inline attachment needs a ContentId, which the HTML refers to as cid:….';
    errors.push({ pointer: `${at}/ContentId`, code: 'required', detail });
  }
  if (errors.length > 0) throw invalidFields(errors);
  return {
    filename: attachment.FileName,
    content: attachment.RawContent,
    ...(attachment.ContentType === undefined ? {} : { content_type: attachment.ContentType }),
    ...(contentId === undefined ? {} : { content_id: contentId.replace(/^<(.*)>$/, '$1') }),
  };
}
