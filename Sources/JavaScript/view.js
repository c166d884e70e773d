// The subpath `@enroute/client/view`: pure functions from messages to views. Tools that do not read `exports` find this file
// by its name at the top of the package: classic TypeScript resolution, and Metro before React Native 0.79.

export * from './enroute-view.js';
