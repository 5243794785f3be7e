import { ImageOff, Link2, Monitor, Moon, Smartphone, Sun } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { classNames } from '../lib/class-names.ts';
import { Button } from './button.tsx';
import { CopyCode } from './copy.tsx';

/**
 * Untrusted email HTML in a sandboxed frame. The frame document comes from the server with its own
 * content security policy: no scripts from the email, no cookies, no requests. Links are displayed
 * but not followed; remote images load only on request.
 */

const MIN_HEIGHT_PX = 320;
const MAX_HEIGHT_PX = 20_000;
const PHONE_PX = 390;

/** Images that the email contains, as data URLs by the Content-ID that its HTML refers to. */
export type InlineImages = Readonly<Record<string, string>>;

const NO_IMAGES: InlineImages = {};

interface FrameMessage {
  postrider: 'preview';
  ready?: true;
  height?: number;
  remote?: number;
  link?: string;
}

export function EmailPreview({
  html,
  inline = NO_IMAGES,
  title = 'Email preview',
}: {
  html: string;
  inline?: InlineImages;
  title?: string;
}) {
  const [phone, setPhone] = useState(false);
  const [dark, setDark] = useState(false);
  const [images, setImages] = useState(false);
  const [link, setLink] = useState<string>();
  const [remote, setRemote] = useState(0);
  return (
    <div>
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <Toggle
          label="Width"
          options={[
            { icon: Monitor, label: 'Desktop', on: !phone, choose: () => setPhone(false) },
            { icon: Smartphone, label: 'Phone', on: phone, choose: () => setPhone(true) },
          ]}
        />
        <Toggle
          label="Colors"
          options={[
            { icon: Sun, label: 'Light', on: !dark, choose: () => setDark(false) },
            { icon: Moon, label: 'Dark', on: dark, choose: () => setDark(true) },
          ]}
        />
        {remote > 0 && !images && (
          <Button size="small" icon={ImageOff} onClick={() => setImages(true)}>
            Load {remote === 1 ? 'remote image' : `${remote} remote images`}
          </Button>
        )}
      </div>
      <PreviewFrame
        key={String(images)}
        {...{ html, inline, title, dark, images }}
        width={phone ? PHONE_PX : undefined}
        onRemote={setRemote}
        onLink={setLink}
      />
      {link !== undefined && (
        <p role="status" className="mt-2 flex min-w-0 items-center gap-2 text-xs text-soft">
          <Link2 className="size-3.5 shrink-0" aria-hidden />
          <span className="shrink-0">Link target:</span>
          <CopyCode text={link} />
        </p>
      )}
    </div>
  );
}

function PreviewFrame({
  html,
  inline,
  title,
  dark,
  images,
  width,
  onRemote,
  onLink,
}: {
  html: string;
  inline: InlineImages;
  title: string;
  dark: boolean;
  images: boolean;
  width: number | undefined;
  onRemote: (count: number) => void;
  onLink: (href: string) => void;
}) {
  const ref = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(MIN_HEIGHT_PX);
  const [ready, setReady] = useState(false);
  const callbacks = useRef({ onRemote, onLink });
  callbacks.current = { onRemote, onLink };
  useEffect(() => {
    const listen = ({ source, data }: MessageEvent<FrameMessage>): void => {
      if (source !== ref.current?.contentWindow || data?.postrider !== 'preview') return;
      if (data.ready) setReady(true);
      if (typeof data.height === 'number') {
        setHeight(Math.min(Math.max(Math.ceil(data.height), MIN_HEIGHT_PX), MAX_HEIGHT_PX));
      }
      if (typeof data.remote === 'number') callbacks.current.onRemote(data.remote);
      if (typeof data.link === 'string') callbacks.current.onLink(data.link);
    };
    addEventListener('message', listen);
    return () => removeEventListener('message', listen);
  }, []);
  useEffect(() => {
    // The sandboxed frame has an opaque origin, so no target origin can be named.
    if (ready) ref.current?.contentWindow?.postMessage({ html, inline, dark }, '*');
  }, [ready, html, inline, dark]);
  return (
    <iframe
      ref={ref}
      title={title}
      src={`/app/preview/${images ? 'with-images' : 'closed'}`}
      sandbox="allow-scripts"
      referrerPolicy="no-referrer"
      style={{ height, width: width ?? '100%' }}
      className={classNames(
        'block max-w-full rounded-lg border border-line transition-[width]',
        dark ? 'bg-[#121212]' : 'bg-white',
        width !== undefined && 'mx-auto',
      )}
    />
  );
}

function Toggle({
  label,
  options,
}: {
  label: string;
  options: { icon: typeof Sun; label: string; on: boolean; choose: () => void }[];
}) {
  return (
    <fieldset className="flex gap-0.5 rounded-md bg-sunken p-0.5 ring-1 ring-line ring-inset">
      <legend className="sr-only">{label}</legend>
      {options.map(({ icon: Icon, label: name, on, choose }) => (
        <button
          key={name}
          type="button"
          aria-pressed={on}
          onClick={choose}
          className={classNames(
            'inline-flex h-6 items-center gap-1.5 rounded px-2 text-xs font-medium',
            on ? 'bg-raised text-ink shadow-panel' : 'text-soft hover:text-ink',
          )}
        >
          <Icon className="size-3.5" aria-hidden />
          {name}
        </button>
      ))}
    </fieldset>
  );
}
