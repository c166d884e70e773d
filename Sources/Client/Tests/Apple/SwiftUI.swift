// A stub of SwiftUI with the parts that EnrouteUI uses, so that its code can be type-checked on Linux. It does nothing.

@_exported import Foundation

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder @MainActor @preconcurrency var body: Self.Body { get }
}

extension Never: View { public var body: Never { return fatalError() } }

@resultBuilder public struct ViewBuilder {
    public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<
        (repeat each Content)
    > { TupleView() }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
    public static func buildEither<First: View, Second: View>(first: First) -> EitherView<First, Second> {
        EitherView()
    }
    public static func buildEither<First: View, Second: View>(second: Second) -> EitherView<First, Second> {
        EitherView()
    }
}

public struct TupleView<Content>: View { public var body: Never { return fatalError() } }
public struct EitherView<First: View, Second: View>: View { public var body: Never { return fatalError() } }
extension Optional: View where Wrapped: View { public var body: Never { return fatalError() } }

public struct Text: View {
    public init<Content: StringProtocol>(_ content: Content) {}
    public func font(_ font: Font?) -> Text { self }
    public var body: Never { return fatalError() }
}

public struct Label: View {
    public init<Content: StringProtocol>(_ title: Content, systemImage: String) {}
    public var body: Never { return fatalError() }
}

public struct HorizontalAlignment: Sendable { public static let leading = HorizontalAlignment() }
public struct Font: Sendable { public static let title = Font() }
public struct HierarchicalShapeStyle: Sendable { public init() {} }
public protocol ShapeStyle: Sendable {}
extension HierarchicalShapeStyle: ShapeStyle {}
extension ShapeStyle where Self == HierarchicalShapeStyle {
    public static var secondary: HierarchicalShapeStyle { .init() }
}

public struct VStack<Content: View>: View {
    public init(alignment: HorizontalAlignment, spacing: Double?, @ViewBuilder content: () -> Content) {}
    public var body: Never { return fatalError() }
}

public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content: View>: View {
    public init(_ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content)
    {}
    public var body: Never { return fatalError() }
}

extension View {
    public func foregroundStyle<Style: ShapeStyle>(_ style: Style) -> some View { self }
    public func task(
        priority: TaskPriority = .userInitiated, _ action: sending @escaping @isolated(any) () async -> Void
    ) -> some View { self }
}

@MainActor public protocol App { associatedtype Body: Scene; @SceneBuilder var body: Body { get }; init() }
@MainActor public protocol Scene {}
@resultBuilder public struct SceneBuilder {
    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}
public struct WindowGroup<Content: View>: Scene { public init(@ViewBuilder content: () -> Content) {} }
extension App { public static func main() {} }

@propertyWrapper public struct State<Value> {
    private let value: Value
    public init(wrappedValue: Value) { self.value = wrappedValue }
    public var wrappedValue: Value {
        get { self.value }
        nonmutating set {}
    }
}

public enum ScenePhase: Comparable, Sendable { case background, inactive, active }
public struct EnvironmentValues: Sendable { public var scenePhase: ScenePhase { .active } }
@propertyWrapper public struct Environment<Value> {
    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) { self.keyPath = keyPath }
    private let keyPath: KeyPath<EnvironmentValues, Value>
    public var wrappedValue: Value { EnvironmentValues()[keyPath: self.keyPath] }
}
extension View {
    public func onChange<Value: Equatable>(
        of value: Value, initial: Bool = false, _ action: @escaping (Value, Value) -> Void
    ) -> some View { self }
}

public struct Button<Content: View>: View {
    public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Content) {}
    public var body: Never { return fatalError() }
}
extension Button where Content == Text {
    public init<Title: StringProtocol>(_ title: Title, action: @escaping @MainActor () -> Void) {}
}
