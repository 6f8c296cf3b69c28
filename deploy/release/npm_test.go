package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNPMPackageInstallsAndLoads installs the npm package into an empty folder, offline, and loads it.
func TestNPMPackageInstallsAndLoads(t *testing.T) {
	if !*withNPM {
		t.Skip("the npm package is not made: -npm asks for it")
	}
	archive, err := filepath.Abs(filepath.Join(releaseHere(t), "signalbox-client-"+testVersion.number+".tgz"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"private": true}`), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(command ...string) string {
		t.Helper()
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("npm", "install", "--offline", "--no-audit", "--no-fund", "--loglevel", "error", archive)
	said := run("node", "--input-type=module", "-e",
		"import { connect, Limiter } from '@signalbox/client'; console.log(typeof connect, typeof Limiter)")
	if said != "function function" {
		t.Errorf("the package has %s", said)
	}
	installed := filepath.Join(folder, "node_modules", "@signalbox", "client")
	var manifest struct{ Version string }
	text, err := os.ReadFile(filepath.Join(installed, "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &manifest)
	}
	if err != nil || manifest.Version != testVersion.number {
		t.Errorf("the version is %q: %v", manifest.Version, err)
	}
	for _, name := range []string{"LICENSE", "README.md", "dist/index.d.ts", "dist/engine/worker.js"} {
		if _, err := os.Stat(filepath.Join(installed, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
}
