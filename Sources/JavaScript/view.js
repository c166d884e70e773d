// The subpath `@enroute/client/view`: pure functions from messages to views. A file of this name at the top of the package is
// what tools find that do not read `exports`: classic TypeScript resolution, and Metro before React Native 0.79.

export * from './enroute-view.js';
