package http

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var generated = flag.Bool("generated", false, "generate clients from the OpenAPI document, with npm, and run them")

// generatedWithin bounds a test's time on a busy machine; most of it is the download.
const generatedWithin = 3 * time.Minute

// newGenerator installs a generator's pinned packages beside the document, in a copy of a testdata directory, where run
// runs a command.
func newGenerator(t *testing.T, files string, needs ...string) (dir string, run func(words ...string)) {
	t.Helper()
	if !*generated {
		t.Skip("it downloads packages: -generated runs it")
	}
	for _, program := range append(needs, "npm") {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: no client is generated from the OpenAPI document", program)
		}
	}
	t.Parallel()
	st, dir := newStage(t, nil), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/"+files)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/openapi.json", document(), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), generatedWithin)
	t.Cleanup(cancel)
	try := func(words ...string) (said string, err error) {
		c := exec.CommandContext(ctx, words[0], words[1:]...)
		c.Dir, c.Env = dir, append(os.Environ(), "SIGNALBOX_HTTP="+st.server.URL, "CI=1")
		text, err := c.CombinedOutput()
		return string(text), err
	}
	if said, err := try("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		t.Skipf("packages cannot be installed: no client is generated from the OpenAPI document: %v\n%s", err, said)
	}
	return dir, func(words ...string) {
		t.Helper()
		if said, err := try(words...); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, said)
		}
	}
}

// TestAGeneratedClientWorks: a client generated from the document by an npm program compiles and works without manual
// additions, and a validator finds no error.
func TestAGeneratedClientWorks(t *testing.T) {
	_, run := newGenerator(t, "generated", "node")
	for _, line := range []string{
		"node validate.mjs", "npx openapi-ts -i openapi.json -o out", "npx tsc -p .", "node js/main.js",
	} {
		run(strings.Fields(line)...)
	}
}

// TestGeneratedJavaClientLocks: a Java client that OpenAPI Generator generates from the document compiles, and locks,
// waits and releases, without manual additions. The generator's npm package contains the generator and the libraries
// that the client imports in one jar, up to this version; later versions download the jar from Maven.
func TestGeneratedJavaClientLocks(t *testing.T) {
	dir, run := newGenerator(t, "java", "java", "javac")
	const jar = "node_modules/@openapitools/openapi-generator-cli/bin/openapi-generator.jar"
	// Such short programs spend most time in the compiler for hot code.
	quick := strings.Fields("-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
	java := func(line string) { run(append(append([]string{"java"}, quick...), strings.Fields(line)...)...) }
	java("-jar " + jar + " generate -g java -c config.json -i openapi.json -o out --global-property " +
		"apis,models,supportingFiles,modelDocs=false,apiDocs=false,modelTests=false,apiTests=false")
	compile := []string{"javac", "-nowarn", "-proc:none", "-cp", jar, "-d", "classes", "Main.java"}
	for _, flag := range quick {
		compile = append(compile, "-J"+flag)
	}
	for _, sources := range []string{"/*.java", "/*/*.java"} {
		found, err := filepath.Glob(dir + "/out/src/main/java/signalbox" + sources)
		if err != nil || len(found) == 0 {
			t.Fatalf("no client was generated: %v", err)
		}
		compile = append(compile, found...)
	}
	run(compile...)
	java("-cp classes:" + jar + " Main")
}
