import NIOSSL
import X509
import Crypto
import SwiftASN1
import NIOEmbedded
import NIOPosix
