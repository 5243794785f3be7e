// Sets theme and mode before the first paint. A separate file, because the policy forbids
// inline scripts.
(() => {
  const read = (key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  };
  const root = document.documentElement;
  const theme = read('postrider.theme');
  const dark =
    theme === 'dark' || (theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  root.dataset.theme = dark ? 'dark' : 'light';
  // The documentation has no mode and sets the attribute in its markup.
  if (root.dataset.mode) return;
  let mode = null;
  try {
    mode = sessionStorage.getItem('postrider.mode');
  } catch {}
  root.dataset.mode = (mode ?? read('postrider.mode')) === 'live' ? 'live' : 'test';
})();
