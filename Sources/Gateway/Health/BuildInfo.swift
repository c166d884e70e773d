// The commit and the compiler that the program was built with, for `enroute_build_info`.

internal import CBuildInfo

/// The build of this program.
enum BuildInfo {
    /// The commit, if the build was given one in ENROUTE_BUILD_REVISION (Package.swift), otherwise `unknown`. Only characters
    /// that need no escaping in a label.
    static var revision: String {
        String(cString: enroute_build_revision()).filter {
            $0.isASCII && ($0.isLetter || $0.isNumber || "-._+".contains($0))
        }
    }

    /// The version of the compiler. Swift code can compare it but not read it.
    static var swiftVersion: String {
        #if compiler(>=6.4)
            "6.4 or newer"
        #elseif compiler(>=6.3)
            "6.3"
        #else
            "6.2"
        #endif
    }
}
