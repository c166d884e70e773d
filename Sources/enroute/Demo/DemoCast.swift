// The people, shops and dishes of the demo's town. All names are invented.

import Access
import EnrouteWire
import Journeys

enum DemoCast {
    /// A shop, where it is in the generated town, and what people order there.
    struct Shop {
        let name: String
        let corner: StreetGrid.Corner
        let dishes: [String]
    }

    /// The first rider is yours.
    static let riders = [
        "Rosa", "Ben", "Mila", "Jonas", "Aisha", "Tom", "Lena", "Marco", "Nina", "Omar", "Eva", "Paul", "Sofia", "Luca",
        "Hana", "Felix", "Ines", "David", "Clara", "Amir", "Julia", "Noah", "Maya", "Leo", "Sara", "Emil", "Vera",
        "Ravi",
        "Anna", "Max", "Zoe", "Theo", "Irina", "Kofi", "Lucy", "Ivan", "Elif", "Hugo", "Mei", "Sam",
    ]

    /// The vehicle of each rider, and its speed between corners in m/s. Yours is a car, because it may travel 8 times
    /// as fast.
    static let vehicles: [(name: String, metersPerSecond: Double)] = [
        ("car", 7), ("cargo_bike", 5), ("bicycle", 5.5), ("moped", 9), ("bicycle", 5), ("car", 11), ("moped", 8.5),
    ]

    /// You order at the first shop.
    static let shops = [
        Shop(
            name: "Pizzeria Roma", corner: .init(row: 4, column: 7), dishes: ["Margherita", "Pizza Funghi", "Tiramisù"]),
        Shop(name: "Noodle House", corner: .init(row: 2, column: 13), dishes: ["Ramen", "Gyoza", "Green tea"]),
        Shop(
            name: "Green Bowl", corner: .init(row: 7, column: 3), dishes: ["Falafel bowl", "Lentil soup", "Lemonade"]),
        Shop(
            name: "Burger Barn", corner: .init(row: 8, column: 9),
            dishes: ["Cheeseburger", "Sweet potato fries", "Coleslaw"]),
        Shop(
            name: "Linden Bakery", corner: .init(row: 5, column: 16),
            dishes: ["Sourdough bread", "Cinnamon rolls", "Apple cake"]),
        Shop(
            name: "Thai Garden", corner: .init(row: 2, column: 4),
            dishes: ["Pad Thai", "Papaya salad", "Mango sticky rice"]),
        Shop(
            name: "Taquería Sol", corner: .init(row: 8, column: 14),
            dishes: ["Tacos al pastor", "Quesadilla", "Horchata"]),
        Shop(name: "Corner Shop", corner: .init(row: 5, column: 11), dishes: ["Milk", "Oranges", "Coffee beans"]),
    ]

    /// The person for the rider with this number, from 0.
    static func rider(_ number: Int) -> DemoOrders.Party {
        DemoOrders.Party(person: PersonID(self.riders[number % self.riders.count].lowercased())!, role: .rider)
    }

    private static let recipients = ["Alex", "Kim", "Robin", "Charlie", "Jo", "Toni", "Sascha"]
    private static let floors = ["Ground floor", "1st floor, left", "2nd floor", "3rd floor, right", "Back entrance"]

    /// The recipient of an order. The telephone number is one of those that are reserved for fiction.
    static func recipient(_ number: Int) -> [String: String] {
        [
            "name": self.recipients[number % self.recipients.count], "floor": self.floors[number % self.floors.count],
            "contact": "tel:+1-202-555-01\(10 + number % 90)",
        ]
    }

    /// The customer of an order; some have ordered more than once.
    static func customer(_ number: Int) -> PersonID { PersonID("customer-\(number % 200 + 1)")! }
}
