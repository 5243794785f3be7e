export { PostriderConnectionError } from './errors.ts';
