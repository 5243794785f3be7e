// Enhancements for the documentation; every page works without them.

const LANGUAGE = 'postrider-docs-language';
/** The dashboard stores its theme under the same key. */
const THEME = 'postrider.theme';

/** The documentation and the dashboard share one theme; other open pages follow a change. */
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

/** Results below the search field while typing; Enter without a selection opens the search page. */
function suggest() {
  const form = document.querySelector('.search');
  const input = form.elements.q;
  const box = document.createElement('div');
  const list = document.createElement('ul');
  const status = document.createElement('p');
  box.className = 'suggestions';
  box.hidden = true;
  list.id = 'suggestions';
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', 'Results');
  status.setAttribute('role', 'status');
  box.append(list, status);
  form.append(box);
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-autocomplete': 'list',
    'aria-controls': list.id,
    'aria-expanded': 'false',
  })) {
    input.setAttribute(name, value);
  }

  let selected = -1;
  let request;
  let timer;
  const close = () => {
    request?.abort();
    clearTimeout(timer);
    box.hidden = true;
    selected = -1;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  };
  const select = (index) => {
    const options = [...list.children];
    if (options.length === 0) return;
    selected = (index + options.length) % options.length;
    for (const [at, option] of options.entries()) {
      option.setAttribute('aria-selected', String(at === selected));
    }
    options[selected].scrollIntoView({ block: 'nearest' });
    input.setAttribute('aria-activedescendant', options[selected].id);
  };
  const open = (url) => {
    close();
    location.assign(url);
  };
  const show = (hits) => {
    list.replaceChildren(
      ...hits.map(({ url, page, title }, index) => {
        const option = document.createElement('li');
        const name = document.createElement('strong');
        const place = document.createElement('span');
        name.textContent = title;
        place.textContent = page;
        option.id = `suggestion-${index}`;
        option.dataset.url = url;
        option.setAttribute('role', 'option');
        option.setAttribute('aria-selected', 'false');
        option.append(name, place);
        return option;
      }),
    );
    list.hidden = hits.length === 0;
    status.textContent = hits.length === 0 ? 'No results' : '';
    status.hidden = hits.length > 0;
    selected = -1;
    input.removeAttribute('aria-activedescendant');
    box.hidden = false;
    input.setAttribute('aria-expanded', 'true');
  };
  const search = async () => {
    request?.abort();
    request = new AbortController();
    const { signal } = request;
    try {
      const response = await fetch(`/docs/search.json?q=${encodeURIComponent(input.value)}`, {
        signal,
      });
      const { data } = await response.json();
      if (!signal.aborted && document.activeElement === input) show(data);
    } catch {
      // Aborted by the next key, or the server is unavailable: Enter still searches.
    }
  };

  input.addEventListener('input', () => {
    clearTimeout(timer);
    if (input.value.trim() === '') close();
    else timer = setTimeout(search, 100);
  });
  input.addEventListener('keydown', (event) => {
    if (box.hidden) return;
    if (event.key === 'ArrowDown') select(selected + 1);
    else if (event.key === 'ArrowUp') select(selected < 0 ? -1 : selected - 1);
    else if (event.key === 'Enter' && selected >= 0) open(list.children[selected].dataset.url);
    else if (event.key === 'Escape') close();
    else return;
    event.preventDefault();
  });
  // The press, because the field loses the focus before the click.
  list.addEventListener('mousedown', (event) => {
    const option = event.target.closest('li');
    event.preventDefault();
    if (option) open(option.dataset.url);
  });
  input.addEventListener('blur', close);
  document.addEventListener('keydown', (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '');
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    document.querySelector('.menu').open = true;
    input.focus();
    input.select();
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
    if (narrow.matches && event.target.closest('nav a')) menu.open = false;
  });
}

followTheme();
followLanguage();
addCopyButtons();
markPlace();
suggest();
foldMenu();
