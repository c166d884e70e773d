// The line of an edge: its two nodes, and the shape points between them.

extension StreetGraph {
    /// The points of an edge from its start to its end, at least two.
    func line(of edge: Int) -> EdgeLine {
        let (record, street) = (self.edges[edge], self.street(edge))
        return EdgeLine(
            start: self.nodes[Int(record.from)], end: self.nodes[Int(record.to)],
            shape: UnsafeBufferPointer(
                rebasing: self.shapes[Int(self.firstShapes[street])..<Int(self.firstShapes[street + 1])]))
    }

    func meters(of edge: Int) -> Double { Double(self.edges[edge].centimeters) / 100 }

    func name(of edge: Int) -> String? {
        let name = Int(self.edgeNames[self.street(edge)])
        let bytes = self.nameBytes[Int(self.firstNames[name])..<Int(self.firstNames[name + 1])]
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// The point at a distance along an edge, and the points of the line before and after it.
    func point(on edge: Int, metersAlong: Double) -> StreetPoint {
        let line = self.line(of: edge)
        var left = max(0, metersAlong)
        var previous = line.start
        for index in 1..<line.count {
            let next = line[index]
            let meters = previous.meters(to: next)
            if left <= meters { return previous.toward(next, meters > 0 ? left / meters : 0) }
            left -= meters
            previous = next
        }
        return line.end
    }

    /// The line between two distances along an edge; backward if the first is larger.
    func line(on edge: Int, from: Double, to: Double) -> [StreetPoint] {
        guard from <= to else { return self.line(on: edge, from: to, to: from).reversed() }
        let line = self.line(of: edge)
        var points = [self.point(on: edge, metersAlong: from)]
        var along = 0.0
        for index in 1..<line.count {
            along += line[index - 1].meters(to: line[index])
            if along >= to { break }
            if along > from { points.append(line[index]) }
        }
        points.append(self.point(on: edge, metersAlong: to))
        return points
    }
}

struct EdgeLine {
    let start: StreetPoint
    let end: StreetPoint
    let shape: UnsafeBufferPointer<StreetPoint>

    var count: Int { self.shape.count + 2 }

    subscript(_ index: Int) -> StreetPoint {
        index == 0 ? self.start : index > self.shape.count ? self.end : self.shape[index - 1]
    }
}
