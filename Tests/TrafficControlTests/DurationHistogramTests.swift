import EnrouteWire
import Telemetry
import Testing
import TrafficControl

@Suite struct DurationHistogramTests {
    @Test func `an observation counts in every bucket whose bound it does not exceed`() {
        var histogram = DurationHistogram(.deliveries)
        for duration: Int64 in [0, 1_000, 1_001, 300_000, 10_000_001] { histogram.record(microseconds: duration) }
        let lines = histogram.lines("x_seconds")
        let expected = [
            "0.001": 2, "0.0025": 3, "0.25": 3, "0.5": 4, "10": 4, "+Inf": 5,
        ]
        for (bound, count) in expected { #expect(lines.contains("x_seconds_bucket{le=\"\(bound)\"} \(count)")) }
        #expect(lines.contains("x_seconds_sum 10.302002"))
        #expect(lines.last == "x_seconds_count 5")
    }

    @Test func `labels are part of every sample`() {
        let lines = DurationHistogram(.commands).lines("x_seconds", labels: "role=\"live\"")
        #expect(lines.allSatisfy { $0.contains("role=\"live\"") && $0.hasSuffix(" 0") || $0.hasSuffix(" 0.0") })
        #expect(lines.first == "x_seconds_bucket{role=\"live\",le=\"0.00025\"} 0")
    }

    @Test func `negative durations count as zero, and absurd ones do not overflow the sum`() {
        var histogram = DurationHistogram(.deliveries)
        histogram.record(microseconds: .min)
        #expect(histogram.lines("x").contains("x_bucket{le=\"0.001\"} 1"))
        for _ in 0..<100 { histogram.record(microseconds: .max, count: 100_000) }
        #expect(histogram.count == 10_000_001)
        #expect(histogram.lines("x").contains("x_sum \(Double(DurationHistogram.maxMicroseconds) * 10)"))
    }

    @Test func `histograms of several loops add up`() {
        var (one, other) = (DurationHistogram(.requests), DurationHistogram(.requests))
        one.record(microseconds: 6_000, count: 2)
        other.record(microseconds: 6_000)
        other.record(microseconds: 20_000_000)
        one.add(other)
        #expect(one.lines("x").contains("x_bucket{le=\"0.01\"} 3"))
        #expect(one.count == 4)
    }
}

@Suite struct FollowedJobsTests {
    @Test func `a job that several loops follow counts once, until the last of them stops`() {
        let jobs = FollowedJobs()
        let (one, other) = (JobID("one")!, JobID("other")!)
        for job in [one, one, other] { jobs.follow(job) }
        #expect(jobs.count == 2)
        jobs.unfollow(one)
        #expect(jobs.count == 2)
        jobs.unfollow(one)
        #expect(jobs.count == 1)
        jobs.unfollow(one)
        jobs.unfollow(other)
        #expect(jobs.count == 0)
    }
}
