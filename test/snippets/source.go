package snippets

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const module = "github.com/signalbox/signalbox/"

// packages are the packages that a block may use without an import.
var packages = map[string]string{
	"admin":        module + "client/admin",
	"assign":       module + "client/assign",
	"barrier":      module + "client/barrier",
	"client":       module + "client",
	"config":       module + "client/config",
	"context":      "context",
	"discovery":    module + "client/discovery",
	"election":     module + "client/election",
	"errors":       "errors",
	"fmt":          "fmt",
	"grpc":         "google.golang.org/grpc",
	"grpcresolver": module + "client/discovery/grpcresolver",
	"host":         module + "server/host",
	"limiter":      module + "client/limiter",
	"lock":         module + "client/lock",
	"log":          "log",
	"os":           "os",
	"process":      module + "client/process",
	"rand":         "crypto/rand",
	"rollout":      module + "client/rollout",
	"servertest":   module + "server/servertest",
	"settings":     module + "server/settings",
	"slog":         "log/slog",
	"sync":         "sync",
	"testing":      "testing",
	"time":         "time",
	"tls":          "crypto/tls",
}

// around are names that a block may use, assumed to be declared around the block.
const around = `
var (
	token       string
	authorities *x509.CertPool
	report      []byte
	store       interface{ Write(ctx context.Context, fence uint64, report []byte) error }
)

func work(ctx context.Context, fence uint64) error { return nil }
func lead(ctx context.Context, fence uint64) error { return nil }
func export(ctx context.Context) error             { return nil }
func apply(value []byte)                           {}
`

// aroundGRPC is the code around a block with gRPC.
const aroundGRPC = `
var credentials gcredentials.TransportCredentials
`

var qualifier = regexp.MustCompile(`\b([a-z][a-z0-9]*)\.[A-Z]`)

// needs are the packages used by a block: every package whose name precedes a dot and a capital letter, unless the
// block declares a variable with this name.
func (s *Snippet) needs() []string {
	found := make(map[string]bool)
	for _, m := range qualifier.FindAllStringSubmatch(s.Text, -1) {
		if packages[m[1]] != "" && !strings.Contains(s.Text, m[1]+" := ") {
			found[m[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// file turns a block into a complete file. A line directive makes compiler errors name the page and line.
func (s *Snippet) file() string {
	if s.Mode == "test" {
		return s.Text
	}
	var b strings.Builder
	b.WriteString("package snippet\n\nimport (\n\t\"crypto/x509\"\n")
	names := s.needs()
	for _, must := range []string{"client", "context"} {
		if !slices.Contains(names, must) {
			names = append(names, must)
		}
	}
	for _, name := range names {
		fmt.Fprintf(&b, "\t%q\n", packages[name])
	}
	grpc := slices.Contains(names, "grpc")
	if grpc {
		b.WriteString("\tgcredentials \"google.golang.org/grpc/credentials\"\n")
	}
	b.WriteString(")\n" + around)
	if grpc {
		b.WriteString(aroundGRPC)
	}
	fmt.Fprintf(&b, "\n%s{\n//line %s:%d\n%s}\nreturn nil\n}\n", signature("_"), s.Page, s.Line, s.Text)
	return b.String()
}

// signature is the signature of the function around a block. The block has its own braces inside the function, so that
// it may redeclare the parameters' names.
func signature(name string) string {
	return "func " + name + "(ctx context.Context, c *client.Client, s, other *client.Session) error {\n"
}
