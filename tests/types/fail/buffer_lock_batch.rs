//! Origin buffers are borrowed until the epoch or batch ends.
use onesided::{Access, LockAssert, LockType, Rank, Result, Window};

fn modified(window: &mut Window<u64>) -> Result<()> {
    let mut buffer = vec![1; 4];
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    let batch = epoch.batch();
    batch.put(&buffer, Rank(0), 0)?;
    buffer[0] = 2; //~ E0502
    batch.flush()?;
    epoch.unlock()?;
    Ok(())
}

fn moved(window: &mut Window<u64>) -> Result<()> {
    let buffer = vec![1; 4];
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    let batch = epoch.batch();
    batch.put(&buffer, Rank(0), 0)?;
    let _elsewhere = buffer; //~ E0505
    batch.flush()?;
    epoch.unlock()?;
    Ok(())
}

fn dropped(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    let batch = epoch.batch();
    {
        let buffer = vec![1; 4];
        batch.put(&buffer, Rank(0), 0)?; //~ E0597 Batch
    }
    batch.flush()?;
    epoch.unlock()?;
    Ok(())
}

fn read(window: &mut Window<u64>) -> Result<u64> {
    let mut buffer = vec![0; 4];
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    let batch = epoch.batch();
    batch.get(&mut buffer, Rank(0), 0)?;
    let early = buffer[0]; //~ E0502
    batch.flush()?;
    epoch.unlock()?;
    Ok(early)
}

fn main() {}
