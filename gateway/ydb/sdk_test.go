package ydb_test

import (
	"flag"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

var rounds = flag.Int("sdk-rounds", 1, "how often the tests of the SDK run")

const sdkTests = "github.com/ydb-platform/ydb-go-sdk/v3/tests/integration"

// TestTheTestsOfTheSDKPass runs the tests for coordination nodes in the module of ydb-go-sdk.
func TestTheTestsOfTheSDKPass(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the SDK's tests")
	}
	program := filepath.Join(t.TempDir(), "integration.test")
	args := []string{"test", "-c", "-tags", "integration", "-o", program}
	if raceDetector {
		args = append(args, "-race")
	}
	if out, err := exec.CommandContext(t.Context(), "go", append(args, sdkTests)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, options := range map[string]string{
		"default balancer":  "",
		"single connection": "?go_balancer=" + url.QueryEscape(`{"type":"disable"}`),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 1)
			run := exec.CommandContext(t.Context(), program, "-test.v", "-test.run", "^TestCoordination", "-test.count",
				strconv.Itoa(*rounds))
			run.Env = append(os.Environ(), "YDB_CONNECTION_STRING=grpc://"+r.address+database+options)
			out, err := run.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%d bytes of output", len(out))
		})
	}
}
