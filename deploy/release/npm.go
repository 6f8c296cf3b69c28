package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// typescriptFolder has the TypeScript client.
const typescriptFolder = "sdk/typescript"

// npm writes the TypeScript client's npm package with the release version. The compiler version is fixed in the
// client's lock file. The archive is written here, because npm's archives depend on the npm version.
func (j *job) npm() error {
	if j.withoutNPM {
		return nil
	}
	folder := filepath.Join(j.work, "npm")
	if err := j.copyClient(folder); err != nil {
		return err
	}
	for _, command := range []string{
		"npm ci --ignore-scripts --no-audit --no-fund --prefer-offline --loglevel error",
		"npx --no-install tsc -p tsconfig.build.json",
	} {
		words := strings.Fields(command)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("TypeScript client: %s: %w\n%s", command, err, out)
		}
	}
	list, err := j.items("", []string{"LICENSE", typescriptFolder + "/README.md"})
	if err != nil {
		return err
	}
	manifest, err := os.ReadFile(filepath.Join(folder, "package.json"))
	if err != nil {
		return err
	}
	list = append(list, item{path: "package.json", mode: 0o644, content: manifest})
	compiled, err := filesOf(folder, "dist")
	if err != nil {
		return err
	}
	archive, err := pack("package", append(list, compiled...), j.version.date)
	if err != nil {
		return err
	}
	return j.write("signalbox-client-"+j.version.number+".tgz", archive)
}

// copyClient copies the compiler input, and sets the version in the manifest and in the source.
func (j *job) copyClient(folder string) error {
	from := filepath.Join(j.root, filepath.FromSlash(typescriptFolder))
	if err := os.CopyFS(filepath.Join(folder, "src"), os.DirFS(filepath.Join(from, "src"))); err != nil {
		return err
	}
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	for name, line := range map[string]string{
		"package.json":   "  \"version\": %q,\n",
		"src/version.ts": "export const VERSION = %q;\n",
	} {
		file := filepath.Join(folder, filepath.FromSlash(name))
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		before, after, _ := strings.Cut(line, "%q")
		_, rest, found := bytes.Cut(text, []byte(before))
		old, _, ended := bytes.Cut(rest, []byte(after))
		if !found || !ended {
			return fmt.Errorf("%s: the version is not on a line of its own", file)
		}
		made := bytes.Replace(text, []byte(before+string(old)+after), fmt.Appendf(nil, line, j.version.number), 1)
		if err := os.WriteFile(file, made, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// filesOf returns the files below a folder, under its name.
func filesOf(root, name string) (list []item, err error) {
	tree := os.DirFS(root)
	err = fs.WalkDir(tree, name, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, p)
		list = append(list, item{path: path.Clean(p), mode: 0o644, content: text})
		return err
	})
	return list, err
}
