// Written by benchmarks/fit.py from benchmarks/results/scaling.json; do not edit. `make -C benchmarks scaling` measures
// again.

extension SizingCoefficients {
    static let measured = SizingCoefficients(
        gatewayIdle: 7640.31,
        perLocation: 156.21,
        perDelivery: 12.40,
        perFollowedJob: 28.46,
        perFollower: 1.85,
        severalLoops: 1.00,
        redisIdle: 3372.78,
        redisPerLocation: 89.36,
        redisPerFollowedJob: 22.12,
        cluster: 1.00,
        gatewayKB: 51044.27,
        perConnectionKB: 22.19,
        perNewConnection: 635.30,
        gatewayError: 1.75,
        redisError: 4.32,
        memoryError: -0.00,
        provenance: "2026-11-23, commit 57b6686e, AMD EPYC, 2 cores")
}
