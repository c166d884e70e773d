// The subpath `@enroute/client/words`: times, distances and arrivals as text. A file of this name at the top of the package is
// what tools find that do not read `exports`: classic TypeScript resolution, and Metro before React Native 0.79.

export * from './enroute-words.js';
