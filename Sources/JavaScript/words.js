// The subpath `@enroute/client/words`: times, distances and arrivals as text. Tools that do not read `exports` find this file
// by its name at the top of the package: classic TypeScript resolution, and Metro before React Native 0.79.

export * from './enroute-words.js';
