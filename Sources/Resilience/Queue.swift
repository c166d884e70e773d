// A FIFO queue that releases the memory of removed elements even if it is never quite empty.

/// First in, first out.
struct Queue<Element: Sendable>: Sendable {
    private var elements: [Element] = []
    private var first = 0

    var isEmpty: Bool { self.first == self.elements.count }

    mutating func append(_ element: Element) { self.elements.append(element) }

    mutating func popFirst() -> Element? {
        guard self.first < self.elements.count else { return nil }
        defer {
            self.first += 1
            if self.first == self.elements.count {
                self.elements.removeAll(keepingCapacity: self.first < 1024)
                self.first = 0
            } else if self.first >= 1024, self.first * 2 >= self.elements.count {
                // Compacts the array. Otherwise a queue that is never quite empty would keep every removed element.
                self.elements.removeFirst(self.first)
                self.first = 0
            }
        }
        return self.elements[self.first]
    }
}
