package database

import (
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// only is a file system of SQLite's with one file in it, which nothing writes or locks.
type only struct{ *snapshot }

// Open opens the file. SQLite asks for no other: what it sorts stays in memory.
func (o only) Open(_ string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if flags&vfs.OPEN_MAIN_DB == 0 {
		return nil, flags, sqlite3.CANTOPEN
	}
	return file(o), flags | vfs.OPEN_READONLY, nil
}

// Delete refuses.
func (only) Delete(string, bool) error { return sqlite3.IOERR_DELETE }

// Access finds no other file.
func (only) Access(string, vfs.AccessFlag) (bool, error) { return false, nil }

// FullPathname is the name itself.
func (only) FullPathname(name string) (string, error) { return name, nil }

// file is the one in only.
type file struct{ *snapshot }

// Close leaves the file open, which Read closes.
func (file) Close() error { return nil }

// WriteAt refuses, as the next three do.
func (file) WriteAt([]byte, int64) (int, error) { return 0, sqlite3.IOERR_WRITE }

// Truncate refuses.
func (file) Truncate(int64) error { return sqlite3.IOERR_TRUNCATE }

// Sync refuses.
func (file) Sync(vfs.SyncFlag) error { return sqlite3.IOERR_FSYNC }

// Lock does nothing: see snapshot.still.
func (file) Lock(vfs.LockLevel) error { return nil }

// Unlock does nothing.
func (file) Unlock(vfs.LockLevel) error { return nil }

// CheckReservedLock finds none.
func (file) CheckReservedLock() (bool, error) { return false, nil }

// SectorSize is the default.
func (file) SectorSize() int { return 0 }

// DeviceCharacteristics say that nothing changes.
func (file) DeviceCharacteristics() vfs.DeviceCharacteristic { return vfs.IOCAP_IMMUTABLE }
