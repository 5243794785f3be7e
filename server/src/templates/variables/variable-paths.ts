/** Converts between the two ways to address a value in `template_variables`: paths and JSON Pointers. */

/** `/lines/0/price` becomes `lines[0].price`. */
export function pathFromPointer(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, step) => {
      if (/^\d+$/.test(step) && path !== '') return `${path}[${step}]`;
      return path === '' ? step : `${path}.${step}`;
    }, '');
}

/** `lines[0].price` becomes `/lines/0/price`. */
export function pointerFromPath(path: string): string {
  return path
    .split(/[.[\]]+/)
    .filter((step) => step !== '')
    .map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}
