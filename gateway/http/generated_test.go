package http

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

var generated = flag.Bool("generated", false, "generate a client from the OpenAPI document, with npm, and run it")

// generatedWithin bounds the test's time; most of it is the download.
const generatedWithin = time.Minute

// TestAGeneratedClientWorks: a client generated from the document by an npm program compiles and works without manual
// additions, and a validator finds no error.
func TestAGeneratedClientWorks(t *testing.T) {
	if !*generated {
		t.Skip("it downloads packages: -generated runs it")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed: no client is generated from the OpenAPI document")
	}
	st, dir := newStage(t, nil), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/generated")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/openapi.json", document(), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), generatedWithin)
	defer cancel()
	run := func(line string) (said string, err error) {
		words := strings.Fields(line)
		c := exec.CommandContext(ctx, words[0], words[1:]...)
		c.Dir, c.Env = dir, append(os.Environ(), "SIGNALBOX_HTTP="+st.server.URL, "CI=1")
		text, err := c.CombinedOutput()
		return string(text), err
	}
	if said, err := run("npm ci --ignore-scripts --no-audit --no-fund"); err != nil {
		t.Skipf("packages cannot be installed: no client is generated from the OpenAPI document: %v\n%s", err, said)
	}
	for _, line := range []string{
		"node validate.mjs", "npx openapi-ts -i openapi.json -o out", "npx tsc -p .", "node js/main.js",
	} {
		if said, err := run(line); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, said)
		}
	}
}
