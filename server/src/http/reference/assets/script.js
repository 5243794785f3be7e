// Enhancements for the reference; every page works without them.

const LANGUAGE = 'postrider-docs-language';
/** The dashboard stores its theme under the same key. */
const THEME = 'postrider.theme';

/** The reference and the dashboard share one theme; other open pages follow a change. */
function followTheme() {
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const buttons = [...document.querySelectorAll('.theme button')];
  let chosen;
  const read = () => {
    try {
      chosen = localStorage.getItem(THEME) ?? 'system';
    } catch {
      chosen ??= 'system';
    }
  };
  const show = () => {
    const isDark = chosen === 'dark' || (chosen !== 'light' && dark.matches);
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
    for (const button of buttons) button.setAttribute('aria-pressed', button.value === chosen);
  };
  for (const button of buttons) {
    button.addEventListener('click', () => {
      chosen = button.value;
      try {
        if (chosen === 'system') localStorage.removeItem(THEME);
        else localStorage.setItem(THEME, chosen);
      } catch {
        // If storage is unavailable, the choice applies to this page only.
      }
      show();
    });
  }
  addEventListener('storage', () => {
    read();
    show();
  });
  dark.addEventListener('change', show);
  read();
  show();
  document.querySelector('.theme').hidden = false;
}

/** All request panels follow one choice of language, which is remembered. */
function followLanguage() {
  const inputs = [...document.querySelectorAll('.panel[data-group="language"] input')];
  const choose = (language) => {
    for (const input of inputs) if (input.value === language) input.checked = true;
  };
  for (const input of inputs) {
    input.addEventListener('change', () => {
      const before = input.closest('.panel').getBoundingClientRect().top;
      choose(input.value);
      // Panels above may have changed their height: restore the scroll position.
      window.scrollBy({
        top: input.closest('.panel').getBoundingClientRect().top - before,
        behavior: 'instant',
      });
      try {
        localStorage.setItem(LANGUAGE, input.value);
      } catch {
        // If storage is unavailable, the choice applies to this page only.
      }
    });
  }
  try {
    choose(localStorage.getItem(LANGUAGE));
  } catch {
    // As above.
  }
}

function addCopyButtons() {
  if (!navigator.clipboard) return;
  for (const panel of document.querySelectorAll('.panel')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      const shown = [...panel.querySelectorAll('pre')].find((pre) => pre.offsetParent !== null);
      await navigator.clipboard.writeText(shown?.textContent ?? '');
      button.textContent = 'Copied';
      setTimeout(() => {
        button.textContent = 'Copy';
      }, 1500);
    });
    panel.querySelector('figcaption').append(button);
  }
}

/** Highlights the current section in the table of contents. */
function markPlace() {
  const links = new Map(
    [...document.querySelectorAll('nav a[href^="#"]')].map((link) => [link.hash.slice(1), link]),
  );
  const visible = new Set();
  let current;
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) visible.add(target);
        else visible.delete(target);
      }
      const first = [...visible].sort((a, b) => a.offsetTop - b.offsetTop)[0];
      const link = first && links.get(first.id);
      if (!link || link === current) return;
      current?.removeAttribute('aria-current');
      link.setAttribute('aria-current', 'location');
      const list = link.closest('nav');
      const { top, bottom } = link.getBoundingClientRect();
      const frame = list.getBoundingClientRect();
      if (top < frame.top || bottom > frame.bottom)
        list.scrollTop += top - frame.top - frame.height / 3;
      current = link;
    },
    { rootMargin: '-10% 0px -70% 0px' },
  );
  for (const id of links.keys()) {
    const section = document.getElementById(id);
    if (section) observer.observe(section);
  }
}

function filterContents() {
  const input = document.querySelector('.filter input');
  input.parentElement.hidden = false;
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const list of document.querySelectorAll('nav ul')) {
      let any = false;
      for (const item of list.children) {
        const text = `${item.textContent} ${item.firstElementChild.hash}`.toLowerCase();
        item.hidden = !words.every((word) => text.includes(word));
        any ||= !item.hidden;
      }
      list.hidden = !any;
      if (list.previousElementSibling) list.previousElementSibling.hidden = !any;
    }
  });
  document.addEventListener('keydown', (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '');
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    input.focus();
  });
}

/**
 * On a phone the table of contents is collapsed until it is opened, and again after a selection.
 */
function foldMenu() {
  const menu = document.querySelector('.menu');
  const narrow = window.matchMedia('(max-width: 60rem)');
  const follow = () => {
    menu.open = !narrow.matches;
  };
  narrow.addEventListener('change', follow);
  follow();
  menu.addEventListener('click', (event) => {
    if (narrow.matches && event.target.closest('a')) menu.open = false;
  });
}

followTheme();
followLanguage();
addCopyButtons();
markPlace();
filterContents();
foldMenu();
