package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/shard/hosts"
)

// TestTheComparisonNamesTheVersionsOfTheTree: the page states the checked versions of other services. Modules pin the
// versions that this project builds or runs against.
func TestTheComparisonNamesTheVersionsOfTheTree(t *testing.T) {
	text := readPage(t, "docs/comparison.md").text
	for _, row := range []struct{ module, dependency, says string }{
		{"bench", "go.etcd.io/etcd/server/v3", "source and run, %s"},
		{"bench", "go.etcd.io/etcd/client/v3", "source, %s"},
		{"bench", "github.com/go-zookeeper/zk", "with zk %s"},
		{"gateway/ydb", "github.com/ydb-platform/ydb-go-sdk/v3", "ydb-go-sdk %s run"},
		{"gateway/ydb", "github.com/ydb-platform/ydb-go-sdk/v3", "the SDK's own tests, version %s"},
	} {
		mod, err := os.ReadFile(filepath.Join(root, row.module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		pinned := regexp.MustCompile(`(?m)^\s+` + regexp.QuoteMeta(row.dependency) + ` v(\S+)$`).FindSubmatch(mod)
		if pinned == nil {
			t.Errorf("%s/go.mod does not pin %s", row.module, row.dependency)
			continue
		}
		if want := fmt.Sprintf(row.says, pinned[1]); !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestTheComparisonNamesTheClientsAndLimitsOfTheTree: each client has a row with its folder, and the limits match the
// code.
func TestTheComparisonNamesTheClientsAndLimitsOfTheTree(t *testing.T) {
	text := readPage(t, "docs/comparison.md").text
	_, clients, _ := strings.Cut(text, "\n## Clients of Signalbox\n")
	clients, _, _ = strings.Cut(clients, "\n## ")
	for _, folder := range []string{"client", "sdk/python", "gateway/http", "gateway/ydb"} {
		if !isThere(folder) || !strings.Contains(clients, "| `"+folder+"` |") {
			t.Errorf("the page has no row for the client in %s", folder)
		}
	}
	for _, want := range []string{
		fmt.Sprintf("1 to %d bytes", field.MaxName),
		fmt.Sprintf("at most %d KiB (%d MiB if configured)", protocol.DefaultDataBytes>>10, protocol.MaxDataBytes>>20),
		fmt.Sprintf("up to nine, or %d with", hosts.MaxSpreadHosts),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
