import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  base: '/app/',
  plugins: [react(), tailwind()],
  build: {
    outDir: 'dist/app',
    emptyOutDir: true,
    target: 'es2022',
    // An inlined file would need `data:` in the policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
  server: {
    // `npm run dev` beside a running server: the API and what the house shares are the real ones.
    proxy: { '/api': 'http://127.0.0.1:3000', '/docs': 'http://127.0.0.1:3000' },
  },
});
