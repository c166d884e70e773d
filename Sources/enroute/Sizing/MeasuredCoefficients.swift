// Written by benchmarks/fit.py from benchmarks/results/scaling.json; do not edit. `make -C benchmarks scaling` measures
// again.

extension SizingCoefficients {
    static let measured = SizingCoefficients(
        gatewayIdle: 7527.38,
        perReport: 125.73,
        perLocation: 6.71,
        perDelivery: 12.04,
        perRider: 0.00,
        perFollowedJob: 10.70,
        perFollower: 1.48,
        severalLoops: 1.14,
        redisIdle: 4317.57,
        redisPerReport: 45.99,
        redisPerLocation: 38.93,
        redisPerRider: 3.31,
        cluster: 1.72,
        gatewayKB: 55315.57,
        perConnectionKB: 24.18,
        perNewConnection: 593.85,
        gatewayError: -16.90,
        redisError: -17.34,
        memoryError: 3.89,
        provenance: "2026-11-24, commit 40e0a95fdb64, AMD EPYC, 2 cores")
}
