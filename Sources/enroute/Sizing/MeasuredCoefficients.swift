// Written by benchmarks/fit.py from benchmarks/results/scaling.json; do not edit. `make -C benchmarks scaling` measures
// again.

extension SizingCoefficients {
    static let measured = SizingCoefficients(
        gatewayIdle: 7508.74,
        perReport: 41.59,
        perLocation: 66.64,
        perDelivery: 13.03,
        perRider: 27.00,
        perFollowedJob: 11.86,
        perFollower: 1.77,
        severalLoops: 0.96,
        redisIdle: 3486.93,
        redisPerReport: 21.86,
        redisPerLocation: 39.87,
        redisPerRider: 28.69,
        cluster: 1.30,
        gatewayKB: 51623.47,
        perConnectionKB: 22.68,
        perNewConnection: 640.68,
        gatewayError: -3.45,
        redisError: -0.63,
        memoryError: 1.90,
        provenance: "2026-11-23, commit 57b6686e, AMD EPYC, 2 cores")
}
