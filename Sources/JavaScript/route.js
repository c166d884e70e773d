// The subpath `@enroute/client/route`: the way ahead of a rider, for maps. A file of this name at the top of the package is
// what tools find that do not read `exports`: classic TypeScript resolution, and Metro before React Native 0.79.

export * from './enroute-route.js';
