# Homebrew on Linux: Formula/assay.rb
class Assay < Formula
  desc "Benchmarks a Linux machine: CPU, LINPACK, memory, disk, network"
  homepage "https://example.org/assay"
  url "https://example.org/assay/assay-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build
  depends_on :linux

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/cli")
    generate_completions_from_executable(bin/"assay", "completions")
    system bin/"assay", "man", man1
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/assay --version")
  end
end
